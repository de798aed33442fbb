-- wake_run: let a queued run go on whose steps wait (S74).

local id = whole(args.run)
local run = fields_of(run_key(id))
if run.state == 'queued' and run.waits_for and tonumber(run.due_at) > now then
  leave_queue(id, run)
  run.due_at = now
  call('HSET', run_key(id), 'due_at', now)
  enter_queue(id, run)
  tell()
end
return 'true'
