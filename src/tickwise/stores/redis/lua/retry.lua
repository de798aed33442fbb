-- retry: queue a failed, lost or cancelled run again (S41): another attempt, on a lane unless code had enqueued it.

local id = whole(args.run)
local run = fields_of(run_key(id))
if not run.state or not ENDED_BY[run.state] then
  return cjson.encode({ state = run.state or '' })
end
local other = run.key and holder(run.job, run.key)
if other then
  return cjson.encode({ state = run.state, holder = other, key = run.key })
end
local lane
if run.trigger ~= 'enqueue' then
  lane = free_lane(run.job, {})
  if not lane then
    return cjson.encode({ active = run.job, holders = holders_of(run.job) })
  end
end
local last = call('LINDEX', P .. ':attempts:' .. id, -1)
if run.attempt and not (last and cjson.decode(last).number == run.attempt) then
  on_record(id, run, ENDED_BY[run.state], run.finished_at, run.error)
end
call('ZREM', P .. ':finished:' .. run.state, id)
call('HDEL', run_key(id), 'finished_at', 'cancelling', 'token', 'expires_at', 'error', 'failures', 'losses')
put(run_key(id), { state = 'queued', due_at = now })
for _, step in ipairs(args.again) do
  call('HDEL', P .. ':steps:' .. id, step)
end
if lane then
  call('HSET', run_key(id), 'lane', lane)
  call('HSET', job_key(run.job), 'lane:' .. lane, id .. ' ' .. run.trigger)
  call('HINCRBY', job_key(run.job), 'seq', 1)
end
if run.key then
  call('HSET', P .. ':keys:' .. run.job, run.key, id)
end
run.lane, run.due_at = lane, now
enter_queue(id, run)
tell()
return '{"retried":true}'
