-- facts: slots that have a run although they may be pending, and successes that others wait for (S35).
-- A run without a schedule counts for all schedules of its job.

local slots, successes = {}, {}
for name, since in pairs(args.slots or {}) do
  local flat = call('ZRANGE', P .. ':slots:' .. name, '(' .. whole(since), '+inf', 'BYSCORE', 'WITHSCORES')
  local found = {}
  for i = 2, #flat, 2 do
    found[#found + 1] = flat[i]
  end
  slots[#slots + 1] = '"' .. name .. '":' .. list_of(found)
end
for _, name in ipairs(args.schedules or {}) do
  local owner = call('HGET', P .. ':owner', name)
  if owner then
    local flat = call('ZRANGE', P .. ':successes:' .. owner, '(' .. whole(args.since), '+inf', 'BYSCORE', 'WITHSCORES')
    local found = {}
    for i = 1, #flat, 2 do
      local schedule = string.match(flat[i], ' (.*)$')
      if schedule == '' or schedule == name then
        found[#found + 1] = flat[i + 1]
      end
    end
    successes[#successes + 1] = '"' .. name .. '":' .. list_of(found)
  end
end
return '{"slots":{' .. table.concat(slots, ',') .. '},"successes":{' .. table.concat(successes, ',') .. '}}'
