-- forget: remove runs of a job that it does not keep any longer (S51), and note when to look at it again. Where history
-- begins is written in the same move, under a new `seq`, so that no backfill asked for meanwhile misses it.

local key, removed, history = job_key(args.job), 0, nil
if call('HGET', key, 'seq') ~= whole(args.seq) then
  return '{"removed":0}'
end
for _, id in ipairs(args.runs) do
  local run = fields_of(run_key(id))
  if run.finished_at and tonumber(run.finished_at) < args.before then
    forget(id, run)
    removed = removed + 1
    if run.slot then
      history = math.max(history or 0, run.slot + 1)
    end
  end
end
if history then
  call('HSET', key, 'history_from', math.max(history, tonumber(call('HGET', key, 'history_from') or 0)))
  call('HINCRBY', key, 'seq', 1)
end
call('ZADD', P .. ':prune', args.again, args.job)
return '{"removed":' .. removed .. '}'
