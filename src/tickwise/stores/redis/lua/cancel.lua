-- cancel: a queued run ends at once; a running one is asked to. Answers its state then.

local id = whole(args.run)
local run = fields_of(run_key(id))
if not run.state then
  return '{}'
end
cancel(id, run)
tell()
return cjson.encode({ state = call('HGET', run_key(id), 'state') })
