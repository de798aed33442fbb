"""Jobs with everything that a dashboard has to show: failures, retries, skips, waits, a pipeline, a pause.

They run often, so that half an hour of them fills the first page.
"""

_FLAKY = '[ $(( $(date +%s) / 60 % 3 )) -ne 0 ] || [ "$TICKWISE_ATTEMPT" -gt 1 ]'
JOBS = {
    "billing-reconcile": r"""
description: Matches payments with the ledger
labels: {team: billing}
schedule: {every: 3m}
steps:
  - {name: fetch, script: "printf '\\033[32mfetched\\033[0m 412 payments\\n'; sleep 1.4"}
  - {name: rates, script: "sleep 0.6; echo rates of today"}
  - name: match
    depends: [fetch, rates]
    script: "sleep 0.8; echo matching …; echo 'LedgerMismatch: payment 8841 has no ledger entry' >&2; exit 1"
  - {name: report, depends: match, command: echo report}
""",
    "nightly-backup": """
description: Dumps the shop
labels: {team: platform}
schedule: {every: 20m}
script: "echo dumping shop; sleep 3; echo done, 1.2 GB"
""",
    "slow-report": """
labels: {team: data}
schedule: {every: 20s}
overlap: skip
script: "echo reading orders; sleep 68"
""",
    "gate-export": """
labels: {team: data}
schedule: {every: 1m}
preconditions: [{command: "test -f /nonexistent/flag"}]
command: echo exported
""",
    "load-after": """
labels: {team: data}
schedule: {every: 5m}
after: [{schedule: billing-reconcile, within: 10m}]
command: echo loaded
""",
    "timeouter": """
labels: {team: platform}
schedule: {every: 4m}
timeout: 10s
script: "echo waiting for the partner; sleep 60"
""",
    "health-probe": """
labels: {team: platform}
schedule: {every: 10s}
script: |
  if [ $(( $(date +%s) / 10 % 7 )) -eq 0 ]; then echo "HTTPError: 502 Bad Gateway" >&2; exit 1; fi
  echo 200 OK
""",
    "heartbeat": "labels: {team: platform}\nschedule: {every: 10s}\ncommand: echo beat\n",
    "flaky-api-sync": f"""
labels: {{team: data}}
schedule: {{every: 1m}}
retry: {{limit: 2, interval: 3s}}
script: '{_FLAKY}'
""",
    "ml-train": r"""
description: Trains tonight's model
labels: {team: data}
schedule: {every: 10m}
params: {model: forecast-v3, epochs: 12, learning_rate: 0.003}
steps:
  - {name: extract-orders, script: "sleep 4; echo 812 331 rows"}
  - {name: extract-stock, script: "sleep 7; echo 40 112 rows"}
  - {name: extract-weather, script: "sleep 2; echo 9 stations"}
  - name: features
    depends: [extract-orders, extract-stock, extract-weather]
    script: "sleep 6; echo 214 features"
  - {name: train-small, depends: features, script: "sleep 20; echo loss 0.181"}
  - name: train-large
    depends: features
    script: |
      for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
        printf '\033[36mepoch %s\033[0m loss 0.%s\n' $i $((900 - 60 * i)); sleep 4
      done
  - name: compare
    depends: [train-small, train-large]
    script: "sleep 2; printf '\\033[32mlarge is better\\033[0m by 4.1 %%\\n'"
  - {name: publish, depends: compare, command: echo published forecast-v3}
  - {name: notify, depends: compare, command: echo told the team}
""",
    "orders-etl": 'labels: {team: data}\nschedule: {every: 2m}\nscript: "echo 331 orders; sleep 5"\n',
    "invoice-run": """
labels: {team: billing}
schedule: "0 6 * * *"
timezone: Europe/Berlin
catchup: all
command: echo 1 204 invoices
""",
    "payroll": """
description: Pays salaries on the last working day before the 25th
labels: {team: billing}
schedule: "0 9 25 * *"
timezone: Europe/Berlin
days: {in: office}
roll: back
command: echo paid 214 people
""",
    "price-feed": """
labels: {team: data}
schedule: {every: 4m}
deadline: {start: 10s, finish: 20s}
script: "echo loading prices; sleep $(( $(date +%s) / 240 % 3 == 0 ? 30 : 8 ))"
""",
    "load-shop": """
labels: {team: data}
params: {shop: berlin}
overlap: allow
max_active_runs: 3
script: "echo loading $TICKWISE_PARAM_SHOP; sleep 5"
""",
    "shops": r"""
labels: {team: data}
schedule: {every: 6m}
steps:
  - name: list
    script: echo '{"shops":["berlin","paris","rome","oslo","vienna","prague","bern"]}'
  - name: load
    depends: list
    foreach: ${steps.list.outputs.shops}
    job: load-shop
    params: {shop: "${item}"}
  - {name: sum, depends: load, script: "sleep 2; echo all shops are loaded"}
""",
    "old-export": "labels: {team: platform}\nschedule: {every: 2m}\nshadow: true\ncommand: echo exported\n",
    "deploy": """
description: Deploys what was pushed
labels: {team: platform}
on_event: {}
script: "echo deploying $TICKWISE_EVENT_KEY; sleep 3"
""",
    "cache-warm": "labels: {team: platform}\nschedule: {every: 5m}\ncommand: echo warm\n",
    "restore-drill": """
description: Restores last night's backup into a scratch database
labels: {team: platform}
params: {backup: latest, rows: 1000, verify: true}
script: echo restored
""",
}


CALENDAR = """
description: Working days in Berlin
weekdays: [MON-FRI]
remove:
  - holidays: {country: DE, subdivision: BE}
  - dates: [2026-12-24, 2026-12-31, 2027-12-24, 2027-12-31]
"""

FILES = {name: text.strip().splitlines() for name, text in {**JOBS, "calendars/office": CALENDAR}.items()}
