/** Job files to begin with. */

const LOCAL = `${location.protocol}//localhost:8000`;

const withName = (name, text) => (zone) => `name: ${name}\nschedule: "0 3 * * *"\ntimezone: ${zone}\n${text}`;

export const STARTERS = [
  { word: "a command", text: withName("nightly-backup", "command: echo backed up\n") },
  { word: "a script", text: withName("clean-up", "script: |\n  set -e\n  cd /srv\n  ./clean.sh\n") },
  { word: "a pipeline", text: withName("etl", "retry: {limit: 2, interval: 30s}\nsteps:\n  - name: extract\n    command: ./extract\n  - name: clean\n    depends: extract\n    command: ./clean\n  - name: load\n    depends: clean\n    command: ./load\n") },
  { word: "an HTTP request", text: withName("ping", `http: ${LOCAL}/health\n`) },
  { word: "a Python function", text: withName("report", "python: shop.reports:nightly\nparams: {region: north}\n") },
];
