-- commit: move jobs, each by a compare-and-set of its `seq`: its new doc, when it is due, the runs that it starts, the
-- runs that it ends and what it has decided; all of one job or nothing of it. Answers which jobs were moved.
--
-- A job is not moved if it has changed since it was read, if a slot or a lane that it starts is taken (S1, S16), if a
-- schedule belongs to another job by now (S26), or if it would wait for a worker and the workers have changed (S47).
-- In a pass nothing is moved while everything is paused (S29).

local lost, taken = {}, {}

local function is_stale(job)
  if (call('HGET', job_key(job.name), 'seq') or '0') ~= whole(job.seq) then
    return true
  end
  for _, name in ipairs(job.claims or {}) do
    local owner = call('HGET', P .. ':owner', name)
    if owner and owner ~= job.name then
      return true
    end
  end
  return job.begins_to_wait and args.seen and args.seen ~= (call('GET', P .. ':workers_seq') or '')
end

local function is_taken(run)
  local slot, lane = 'slot ' .. run.schedule .. ' ' .. whole(run.slot), run.job .. ' ' .. run.lane
  local found = taken[slot] or taken[lane] or call('HEXISTS', job_key(run.job), 'lane:' .. run.lane) == 1
    or call('ZCOUNT', P .. ':slots:' .. run.schedule, run.slot, run.slot) > 0
  taken[slot], taken[lane] = true, true
  return found
end

local function save(job)
  local key, is_local = job_key(job.name), job['local'] == 1
  put(key, {
    seq = job.seq + 1, rev = job.seq + 1, plain = job.plain, doc = job.doc, live = job.live, ['local'] = job['local'], waiting = job.waiting,
    lanes = job.lanes, names = job.names,
  })
  call('HDEL', key, 'moved')
  local due, other = P .. (is_local and ':due_local' or ':due'), P .. (is_local and ':due' or ':due_local')
  if not job.wake_at then
    call('ZREM', due, job.name)
    call('ZREM', other, job.name)
    call('SREM', P .. ':awake', job.name)
  elseif call('ZADD', due, job.wake_at, job.name) == 1 then
    call('SADD', P .. ':awake', job.name)
    call('ZREM', other, job.name)
  end
  for _, write in ipairs(job.writes or {}) do
    call(write[1], P .. ':' .. write[2], unpack(write, 3))
  end
  for _, decision in ipairs(job.decisions or {}) do
    record(decision)
  end
  for _, name in ipairs(job.changed or {}) do
    call('ZADD', P .. ':schedules_touched', now, name)
  end
end

-- Plain jobs that start one slot each: how far they have moved stands beside their docs. A slot behind the cursor has no
-- run as long as `seq` is as it was read. All values are texts, and members of common keys are written at once, because
-- this is the loop that bounds how many slots a second a store can fire.
local function start_plain(starts, number)
  local moved, at, due, runs, touched, queued, last, parts = {}, whole(now), {}, {}, {}, {}, {}, {}
  for _, start in ipairs(starts) do
    local name, seq, schedule, slot, wake_at, progress = start[1], start[2], start[3], start[4], start[5], start[6]
    local key = job_key(name)
    local found = call('HMGET', key, 'seq', 'lane:0')
    if found[1] == seq and not found[2] then
      number = number + 1
      local id, queue, requires, due_at, n = whole(number), start[9], start[11], slot .. '000000', #moved
      call('HSET', key, 'seq', start[14], 'moved', progress, 'lane:0', id .. ' schedule')
      call('HSET', run_key(id), 'job', name, 'schedule', schedule, 'slot', slot, 'lane', '0', 'trigger', 'schedule',
        'definition', start[7], 'times', start[8], 'queue', queue, 'priority', start[10], 'requires', requires,
        'claimed_by', args.node, 'state', 'queued', 'created_at', at, 'due_at', due_at)
      if start[12] > 0 then
        call('HSET', run_key(id), 'expires_at', now + start[12] * 1000000)
        call('ZADD', P .. ':expiring', now + start[12] * 1000000, id)
      end
      call('ZADD', P .. ':runs:' .. name, id, id)
      call('ZADD', P .. ':slots:' .. schedule, slot, id)
      call('ZADD', P .. ':ready:' .. queue .. ' ' .. requires, '0', start[15] .. string.format('%014.0f', number))
      moved[n + 1] = { id = id, start = start }
      due[2 * n + 1], due[2 * n + 2] = wake_at, name
      runs[2 * n + 1], runs[2 * n + 2] = id, id
      touched[2 * n + 1], touched[2 * n + 2] = at, id
      queued[2 * n + 1], queued[2 * n + 2] = due_at, id
      last[2 * n + 1], last[2 * n + 2] = schedule, id
      parts[queue] = parts[queue] or {}
      parts[queue][#parts[queue] + 1] = requires
    end
  end
  write_all('ZADD', P .. ':due', due)
  write_all('ZADD', P .. ':runs', runs)
  write_all('ZADD', P .. ':touched', touched)
  write_all('ZADD', P .. ':queued', queued)
  write_all('HSET', P .. ':last_runs', last)
  for queue, requires in pairs(parts) do
    write_all('SADD', P .. ':parts:' .. queue, requires)
    call('HINCRBY', P .. ':waiting', queue, #requires)
  end
  return moved, number
end

-- End what a change of definitions ends. It comes last: that wakes what has begun to wait.
local function end_runs(job)
  for _, id in ipairs(job.cancels or {}) do
    cancel(id, fields_of(run_key(id)), job.failures[id])
  end
  if job.cancel_queued then
    local schedules = {}
    for _, name in ipairs(job.cancel_queued) do
      schedules[name] = true
    end
    cancel_lanes(job.name, schedules)
  end
  if job.live == 0 then
    cancel_lanes(job.name)
    drop_backlog(job.name, tonumber(call('GET', P .. ':number') or 0))
  end
end

-- New runs that the node may lease at once: none while others wait, none of a queue with a limit (S43, S46).
local function reserve(wanted, made)
  local places, leased = {}, {}
  for order, queue in ipairs(wanted.queues) do
    places[queue] = places[queue] or (call('EXISTS', P .. ':limit:' .. queue) == 0 and order) or nil
  end
  local free = {}
  for _, each in ipairs(made) do
    local run, start = each.run, each.start
    if start then
      run = {
        job = start[1], trigger = 'schedule', queue = start[9], priority = start[10], requires = start[11], lane = '0',
        due_at = start[4] .. '000000',
      }
      each.run, each.once = run, start[13] == 1
    end
    if places[run.queue] and not each.once and allows(wanted.offers, run.requires) then
      free[#free + 1] = { string.format('%06d', places[run.queue]) .. place(each.id, run), each }
    end
  end
  table.sort(free, function(one, other) return one[1] < other[1] end)
  for i = 1, math.min(wanted.capacity, #free) do
    local each = free[i][2]
    take(each.id, each.run, wanted.node, wanted.seconds)
    leased[i] = each.id
  end
  return leased
end

local function others_wait(wanted)
  promote()
  for _, queue in ipairs(wanted.queues) do
    if #next_runs(queue, wanted.offers, 1) > 0 then
      return true
    end
  end
  return false
end

local runs = args.runs or {}
if args.reserve and call('EXISTS', args.reserve.offers) == 0 then
  return '{"unknown_offers":true}'
end
for _, job in ipairs(args.jobs) do
  lost[job.name] = is_stale(job) or (args.pass and is_paused())
end
for _, run in ipairs(runs) do
  if is_taken(run) then
    lost[run.job] = true
  end
end
local starts = args.starts or {}
local may_reserve = args.reserve and #runs + #starts > 0 and not others_wait(args.reserve)
local won, made, moved = {}, {}, 0
local number = tonumber(call('GET', P .. ':number') or 0)
if #starts > 0 and not is_paused() then
  made, number = start_plain(starts, number)
  moved = #made
end
for _, job in ipairs(args.jobs) do
  if not lost[job.name] then
    save(job)
    won[#won + 1] = job.name
  end
end
for _, run in ipairs(runs) do
  if not lost[run.job] then
    number = number + 1
    made[#made + 1] = { id = whole(number), run = run, once = run.once }
    run.once = nil
    insert(whole(number), run)
  end
end
if #made > 0 then
  call('SET', P .. ':number', whole(number))
end
for _, job in ipairs(args.jobs) do
  if not lost[job.name] then
    end_runs(job)
  end
end
local leased = may_reserve and reserve(args.reserve, made) or {}
if #made > #leased or not args.pass then
  tell()
end
local following = call('ZRANGE', P .. ':due', 0, 0, 'WITHSCORES')
return '{"won":' .. cjson.encode(won) .. ',"moved":' .. moved .. ',"made":' .. #made .. ',"leases":' .. rows(leased)
  .. ',"next_due":' .. (following[2] or 'null') .. '}'
