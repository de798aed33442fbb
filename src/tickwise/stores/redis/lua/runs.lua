-- The life of a run, and everything that is found by it.
--
-- A run is a hash `run:ID`. Fields without a value are left out. These find it:
--   runs, runs:JOB       all runs; those of a job                       by id
--   touched              all runs, by when they were last created, started or finished
--   slots:SCHEDULE       by slot: a slot has one run (S1)
--   job:JOB lane:N       the run that holds a lane of the job (S16): "ID TRIGGER", and " cancelling" if it was asked to end
--   backlog:JOB          queued runs that hold no lane, by id
--   keys:JOB             by the key that it holds (S48)
--   queued               all queued runs, by when they may start; later: those whose time has not come
--   ready:QUEUE REQUIRES queued runs whose time has come, by priority, time and id (S46); parts:QUEUE has what they require
--   begun                queued runs that have had an attempt
--   expiring             queued runs that never began and may be too late, by when (S47)
--   leases               running runs, by when they are given up: at the end of the lease, or, if they were handed over
--                        to an engine, its `patience` later (S54); held:NODE those of a node
--   handed:QUEUE REQUIRES  handed-over runs, by the end of their watcher's lease; engines:QUEUE has what they require
--   finished:STATE       runs that are over, by when they ended; successes:JOB by the second that they count for
-- Counts: waiting (queued runs by queue), busy (running ones).

local ENDED_BY = { failed = 'failure', lost = 'loss', cancelled = 'cancel' }
local KEPT_ATTEMPTS = 200

local function run_key(id)
  return P .. ':run:' .. id
end

local function ready_key(run)
  return P .. ':ready:' .. run.queue .. ' ' .. run.requires
end

-- The place among ready runs: the highest priority first, then the earliest, then the lowest id.
local function place(id, run)
  return string.format('%04d%016.0f%014.0f', 1000 - run.priority, run.due_at, id)
end

local function touch(id, at)
  call('ZADD', P .. ':touched', 'GT', at, id)
end

local function make_ready(id, run)
  call('ZADD', ready_key(run), 0, place(id, run))
  call('SADD', P .. ':parts:' .. run.queue, run.requires)
end

local function enter_queue(id, run)
  call('ZADD', P .. ':queued', run.due_at, id)
  call('HINCRBY', P .. ':waiting', run.queue, 1)
  if run.started_at then
    call('SADD', P .. ':begun', id)
  end
  if not run.lane then
    call('ZADD', P .. ':backlog:' .. run.job, id, id)
  end
  if tonumber(run.due_at) <= now then
    make_ready(id, run)
  else
    call('ZADD', P .. ':later', run.due_at, id)
  end
end

local function leave_queue(id, run)
  call('ZREM', P .. ':queued', id)
  call('ZREM', P .. ':expiring', id)
  count(P .. ':waiting', run.queue, -1)
  if run.started_at then
    call('SREM', P .. ':begun', id)
  end
  if not run.lane then
    call('ZREM', P .. ':backlog:' .. run.job, id)
  end
  if call('ZREM', ready_key(run), place(id, run)) == 0 then
    call('ZREM', P .. ':later', id)
  elseif call('EXISTS', ready_key(run)) == 0 then
    call('SREM', P .. ':parts:' .. run.queue, run.requires)
  end
end

-- Let runs be leased whose time has come.
local function promote()
  local ids = call('ZRANGE', P .. ':later', '-inf', now, 'BYSCORE', 'LIMIT', 0, 1000)
  for _, id in ipairs(ids) do
    local found = call('HMGET', run_key(id), 'queue', 'requires', 'priority', 'due_at')
    make_ready(id, { queue = found[1], requires = found[2], priority = found[3], due_at = found[4] })
    call('ZREM', P .. ':later', id)
  end
end

local function handed_key(run)
  return P .. ':handed:' .. run.queue .. ' ' .. run.requires
end

-- Have a running run found by the end of its lease.
local function hold(id, run)
  call('ZADD', P .. ':leases', run.lease_until + (run.patience or 0), id)
  if run.patience then
    call('ZADD', handed_key(run), run.lease_until, string.format('%014.0f', id))
    call('SADD', P .. ':engines:' .. run.queue, run.requires)
  end
end

local function release(id, run)
  call('ZREM', P .. ':leases', id)
  call('SREM', P .. ':held:' .. run.node, id)
  count(P .. ':busy', run.queue, -1)
  if run.patience then
    call('ZREM', handed_key(run), string.format('%014.0f', id))
    if call('EXISTS', handed_key(run)) == 0 then
      call('SREM', P .. ':engines:' .. run.queue, run.requires)
    end
  end
end

-- Insert a queued run whose slot and lane are free.
local function insert(id, run)
  run.state, run.created_at = 'queued', now
  run.due_at = run.due_at or math.max(now, run.not_before or now)
  run.not_before = nil
  if run.expires then
    run.expires_at, run.expires = now + run.expires * 1000000, nil
    call('ZADD', P .. ':expiring', run.expires_at, id)
  end
  put(run_key(id), run)
  call('ZADD', P .. ':runs', id, id)
  call('ZADD', P .. ':runs:' .. run.job, id, id)
  touch(id, now)
  if run.slot then
    call('ZADD', P .. ':slots:' .. run.schedule, run.slot, id)
    call('HSET', P .. ':last_runs', run.schedule, id)
  end
  if run.lane then
    call('HSET', P .. ':job:' .. run.job, 'lane:' .. run.lane, id .. ' ' .. run.trigger)
  end
  if run.key then
    call('HSET', P .. ':keys:' .. run.job, run.key, id)
  end
  enter_queue(id, run)
end

-- Make a job due, at the latest now: something that it may have waited for has happened.
local function wake(job)
  local is_local = call('HMGET', P .. ':job:' .. job, 'live', 'local')
  if is_local[1] == '1' then
    call('ZADD', P .. (is_local[2] == '1' and ':due_local' or ':due'), 'LT', second, job)
    call('SADD', P .. ':awake', job)
    call('HINCRBY', P .. ':job:' .. job, 'seq', 1)
    tell()
  end
end

-- Hand a queued run to a worker, and return it as it is then.
local function take(id, run, node, seconds)
  leave_queue(id, run)
  local waited = run.waits_for ~= nil -- then the attempt goes on that it is in (S74)
  local attempt = (run.attempt or 0) + (waited and 0 or 1)
  local taken = {
    state = 'running', attempt = attempt, node = node, token = node .. '/' .. attempt,
    started_at = waited and run.started_at or now, due_at = waited and run.started_at or run.due_at,
    lease_until = now + seconds * 1000000,
  }
  put(run_key(id), taken)
  call('HDEL', run_key(id), 'error', 'hand_over', 'patience', 'waits_for')
  hold(id, taken)
  call('SADD', P .. ':held:' .. node, id)
  call('HINCRBY', P .. ':busy', run.queue, 1)
  touch(id, now)
  if run.trigger == 'manual' then
    call('HSET', P .. ':job:' .. run.job, 'last_manual', second)
    call('HINCRBY', P .. ':job:' .. run.job, 'seq', 1)
  end
end

local function on_record(id, run, event, finished_at, error)
  local attempt = {
    number = tostring(run.attempt), event = event, started_at = run.started_at, finished_at = finished_at,
    node = run.node, error = error or '',
  }
  call('RPUSH', P .. ':attempts:' .. id, cjson.encode(attempt))
  call('LTRIM', P .. ':attempts:' .. id, -KEPT_ATTEMPTS, -1)
end

-- The second that a success counts for: its slot, or its start if it has none.
local function reference(run)
  return tonumber(run.slot) or math.floor(tonumber(run.started_at) / 1000000)
end

local function success_of(id, run)
  return id .. ' ' .. (run.schedule or '')
end

-- Remove a run that is over, with all that hangs on it; what guards need to know of it stays (S51).
local function forget(id, run)
  call('ZREM', P .. ':runs', id)
  call('ZREM', P .. ':runs:' .. run.job, id)
  call('ZREM', P .. ':touched', id)
  call('ZREM', P .. ':finished:' .. run.state, id)
  call('ZREM', P .. ':successes:' .. run.job, success_of(id, run))
  if run.key and call('HGET', P .. ':keys:' .. run.job, run.key) == id then
    call('HDEL', P .. ':keys:' .. run.job, run.key)
  end
  call('DEL', run_key(id), P .. ':attempts:' .. id, P .. ':steps:' .. id, P .. ':log:' .. id, P .. ':printed:' .. id)
  if run.slot then
    call('ZREM', P .. ':slots:' .. run.schedule, id)
    if call('HGET', P .. ':last_runs', run.schedule) == id then
      local newest = 0
      for _, other in ipairs(call('ZRANGE', P .. ':slots:' .. run.schedule, 0, -1)) do
        newest = math.max(newest, tonumber(other))
      end
      if newest > 0 then
        call('HSET', P .. ':last_runs', run.schedule, newest)
      else
        call('HDEL', P .. ':last_runs', run.schedule)
      end
    end
  end
end

-- Free the lane of a run that has ended, and wake what waits for it (S15) or for its success (S35).
local function over(id, run, state)
  local job = P .. ':job:' .. run.job
  run.state = state
  call('HSET', run_key(id), 'finished_at', now)
  touch(id, now)
  call('ZADD', P .. ':finished:' .. state, now, id)
  if run.lane then
    call('HDEL', job, 'lane:' .. run.lane)
    call('HDEL', run_key(id), 'lane')
  end
  local found = call('HMGET', job, 'waiting', 'last_success', 'names')
  call('HINCRBY', job, 'seq', 1)
  if found[1] == '1' then
    wake(run.job)
  end
  if state == 'succeeded' then
    local counts_for = reference(run)
    call('ZADD', P .. ':successes:' .. run.job, counts_for, success_of(id, run))
    call('HSET', job, 'last_success', math.max(counts_for, tonumber(found[2] or 0)))
    for name in string.gmatch((found[3] or '') .. ' job:' .. run.job, '%S+') do
      for _, dependent in ipairs(call('SMEMBERS', P .. ':after:' .. name)) do
        wake(dependent)
      end
    end
    if run.auto_remove then
      forget(id, run)
    end
  elseif run.key and call('HGET', P .. ':keys:' .. run.job, run.key) == id then
    call('HDEL', P .. ':keys:' .. run.job, run.key)
  end
  tell()
end

-- End an attempt, or a run that will not begin: it goes where `to` says.
local function end_run(id, run, to)
  if run.state == 'running' then
    release(id, run)
  else
    leave_queue(id, run)
  end
  put(run_key(id), {
    state = to.state, failures = to.failures or run.failures or 0, losses = to.losses or run.losses or 0,
  })
  call('HDEL', run_key(id), 'lease_until', 'result', 'error', 'waits_for')
  if to.result then
    call('HSET', run_key(id), 'result', to.result)
  end
  if to.error and to.error ~= '' then
    call('HSET', run_key(id), to.event == 'wait' and 'waits_for' or 'error', to.error)
  end
  if to.state == 'queued' then
    if to.event ~= 'wait' then
      on_record(id, run, to.event, whole(now), to.error)
    end
    run.due_at = to.due_at or run.due_at
    call('HSET', run_key(id), 'due_at', run.due_at)
    call('HDEL', run_key(id), 'token')
    enter_queue(id, run)
    tell()
  else
    over(id, run, to.state)
  end
end

-- A queued run ends at once; a running one is asked to, and has failed then if there is a reason for that.
local function cancel(id, run, failure)
  if run.state == 'queued' then
    end_run(id, run, { state = 'cancelled' })
  elseif run.state == 'running' and not run.cancelling then
    call('HSET', run_key(id), 'cancelling', 1)
    if failure and failure ~= '' then
      call('HSET', run_key(id), 'error', failure)
    end
    if run.lane then
      call('HSET', P .. ':job:' .. run.job, 'lane:' .. run.lane, id .. ' ' .. run.trigger .. ' cancelling')
    end
    tell()
  end
end

-- The run that has a key now: a success gives it up after a while (S48).
local function holder(job, key)
  local id = call('HGET', P .. ':keys:' .. job, key)
  if not id then
    return nil
  end
  local found = call('HMGET', run_key(id), 'state', 'key_ttl', 'finished_at')
  if found[1] == 'succeeded' and found[2] and tonumber(found[3]) + found[2] * 1000000 <= now then
    return nil
  end
  return id
end

-- The lowest lane of a job that no run holds, nor any of `taken` (S16, S30).
local function free_lane(job, taken)
  local key = P .. ':job:' .. job
  for lane = 0, tonumber(call('HGET', key, 'lanes')) - 1 do
    if not taken[job .. ' ' .. lane] and call('HEXISTS', key, 'lane:' .. lane) == 0 then
      return lane
    end
  end
  return nil
end

-- Which runs hold lanes of a job, as text for people.
local function holders_of(job)
  local found = {}
  for name, value in pairs(fields_of(P .. ':job:' .. job)) do
    if string.sub(name, 1, 5) == 'lane:' then
      found[#found + 1] = { tonumber(string.sub(name, 6)), string.match(value, '%d+') }
    end
  end
  table.sort(found, function(one, other) return one[1] < other[1] end)
  for place, pair in ipairs(found) do
    found[place] = pair[2]
  end
  return table.concat(found, ', ')
end

-- Runs as one JSON text; those that are not there are left out.
local function rows(ids)
  local texts = {}
  for _, id in ipairs(ids) do
    local run = fields_of(run_key(id))
    if run.state then
      run.id = id
      texts[#texts + 1] = cjson.encode(run)
    end
  end
  return list_of(texts)
end
