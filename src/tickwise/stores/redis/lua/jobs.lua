-- A job with its schedules: one hash `job:NAME`, whose `doc` is written by programs and opaque here.
--
-- `seq` is raised by whatever a plan of the job depends on. A move of a job is made by a compare-and-set of it.
-- `names` are its live schedules; `live`, `local`, `waiting` and `lanes` are what scripts need to know of the doc;
-- `last_success`, `last_manual` and `history_from` are written by scripts only. These find a job:
--   jobs, schedules      live ones by name; owner and gone: the job that has, or had, a schedule
--   due, due_local       by the second at which it must be looked at; awake: all that have one
--   held_jobs            jobs whose slots wait for a worker (S47), with queue and requirements
--   after:SCHEDULE       jobs that wait for successes of a schedule, or of all runs of a job: after:job:JOB (S35)
--   prune                by when to look for runs that are not kept any longer (S51)

local function job_key(name)
  return P .. ':job:' .. name
end

-- A job as JSON text: its fields, the second at which it is due, and its name.
local function job_text(name)
  local flat = call('HGETALL', job_key(name))
  if #flat == 0 then
    return nil
  end
  local parts = { '"name":"' .. name .. '"' }
  for i = 1, #flat, 2 do
    local value = flat[i + 1]
    parts[#parts + 1] = '"' .. flat[i] .. '":' .. (flat[i] == 'doc' and cjson.encode(value) or '"' .. value .. '"')
  end
  local wake = call('ZSCORE', P .. ':due', name) or call('ZSCORE', P .. ':due_local', name)
  if wake then
    parts[#parts + 1] = '"wake_at":"' .. wake .. '"'
  end
  return '{' .. table.concat(parts, ',') .. '}'
end

local function job_texts(names)
  local texts = {}
  for _, name in ipairs(names) do
    texts[#texts + 1] = job_text(name)
  end
  return list_of(texts)
end

-- How it stands with pauses of everything: the number of those that have ended, and whether one is open.
local function pauses_ended()
  return call('LLEN', P .. ':pauses')
end

local function is_paused()
  return call('EXISTS', P .. ':pause') == 1
end

-- End the queued runs of a job that hold lanes, of some of its schedules or of all.
local function cancel_lanes(name, schedules)
  for field, value in pairs(fields_of(job_key(name))) do
    if string.sub(field, 1, 5) == 'lane:' then
      local id = string.match(value, '%d+')
      local run = fields_of(run_key(id))
      if run.state == 'queued' and (not schedules or schedules[run.schedule]) then
        cancel(id, run)
      end
    end
  end
end

-- End queued runs of a removed job that hold no lane, so many at a time; `dropping` remembers that there are more.
local function drop_backlog(name, newest)
  local ids = call('ZRANGE', P .. ':backlog:' .. name, '-inf', newest, 'BYSCORE', 'LIMIT', 0, 1000)
  for _, id in ipairs(ids) do
    cancel(id, fields_of(run_key(id)))
  end
  if #ids == 1000 then
    call('HSET', P .. ':dropping', name, newest)
  else
    call('HDEL', P .. ':dropping', name)
  end
end

-- Keep a decision; one with the identity of another extends it (S7).
local function record(decision)
  local schedule, reason, first, last, number, detail = unpack(decision)
  local key, field = P .. ':decisions:' .. schedule, reason .. ' ' .. whole(first)
  local before = call('HGET', key, field)
  local made_at = before and string.match(before, '^%S+ %S+ (%S+)') or whole(now)
  call('HSET', key, field, table.concat({ whole(last), whole(number), made_at, whole(now), detail }, ' '))
  local member = schedule .. ' ' .. field
  call('ZADD', P .. ':decisions', -first, member)
  call('ZADD', P .. ':decisions_last', last, member)
  call('ZADD', P .. ':decisions_touched', now, member)
end
