-- facts: slots that have a run although they may be pending, successes that others wait for (S35), how many of the
-- newest runs of a schedule failed in a row (S66), and the runs of slots whose deadlines have come (S65).
-- A run without a schedule counts for all schedules of its job.

local slots, successes, failures, progress = {}, {}, {}, {}
for name, since in pairs(args.slots or {}) do
  local flat = call('ZRANGE', P .. ':slots:' .. name, '(' .. whole(since), '+inf', 'BYSCORE', 'WITHSCORES')
  local found = {}
  for i = 2, #flat, 2 do
    found[#found + 1] = flat[i]
  end
  slots[#slots + 1] = '"' .. name .. '":' .. list_of(found)
end
for _, name in ipairs(args.schedules or {}) do
  local needed = string.match(name, '^job:(.*)$')
  local owner = needed or call('HGET', P .. ':owner', name)
  if owner then
    local flat = call('ZRANGE', P .. ':successes:' .. owner, '(' .. whole(args.since), '+inf', 'BYSCORE', 'WITHSCORES')
    local found = {}
    for i = 1, #flat, 2 do
      local schedule = string.match(flat[i], ' (.*)$')
      if needed or schedule == '' or schedule == name then
        found[#found + 1] = flat[i + 1]
      end
    end
    successes[#successes + 1] = '"' .. name .. '":' .. list_of(found)
  end
end
for name, since in pairs(args.failing or {}) do
  local failed, place, newest = 0, 0, {}
  repeat
    newest = call('ZRANGE', P .. ':slots:' .. name, place, place + 99, 'REV')
    place = place + 100
    local over = false
    for _, id in ipairs(newest) do
      local run = call('HMGET', P .. ':run:' .. id, 'state', 'finished_at')
      over = run[1] == 'succeeded'
      if over then
        break
      end
      if (run[1] == 'failed' or run[1] == 'lost') and tonumber(run[2]) > tonumber(since) then
        failed = failed + 1
      end
    end
  until over or #newest < 100
  failures[#failures + 1] = '"' .. name .. '":' .. failed
end
for name, wanted in pairs(args.judged or {}) do
  local ids = {}
  for _, slot in ipairs(wanted) do
    ids[#ids + 1] = call('ZRANGE', P .. ':slots:' .. name, whole(slot), whole(slot), 'BYSCORE')[1]
  end
  progress[#progress + 1] = '"' .. name .. '":' .. rows(ids)
end
return '{"slots":{' .. table.concat(slots, ',') .. '},"successes":{' .. table.concat(successes, ',')
  .. '},"failures":{' .. table.concat(failures, ',') .. '},"progress":{' .. table.concat(progress, ',') .. '}}'
