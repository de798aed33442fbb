-- finish: end attempts as it was decided, each only if its run still is as it was read: running, with this token, and
-- asked to end or not. `lapsed` asks also that it is given up by now. Answers which were ended and which were not.

local ended = {}
for place, one in ipairs(args.ended) do
  local id = whole(one.run)
  local run = fields_of(run_key(id))
  local as_read = run.state == 'running' and run.token == one.token and (run.cancelling or '0') == one.cancelling
  if as_read and (not one.lapsed or run.lease_until + (run.patience or 0) < now) then
    end_run(id, run, one.to)
    ended[place] = 1
  else
    ended[place] = 0
  end
end
return cjson.encode(ended)
