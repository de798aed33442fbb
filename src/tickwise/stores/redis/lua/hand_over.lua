-- hand_over: change what is stored of an attempt's hand-over to an engine, if that still is as it was read: the record,
-- and whether the run was asked to end. Answers whether it was changed, else what is there; nothing if the token is old.

local id = whole(args.run)
local run = fields_of(run_key(id))
if run.state ~= 'running' or run.token ~= args.token then
  return '{}'
end
local is_asked = run.cancelling ~= nil
if args.record and args.before == (run.hand_over or '') and args.cancelling == is_asked then
  run.patience = args.patience
  put(run_key(id), { hand_over = args.record, patience = whole(args.patience) })
  hold(id, run)
  return '{"changed":true}'
end
return cjson.encode({ before = run.hand_over or '', cancelling = is_asked, now = whole(now) })
