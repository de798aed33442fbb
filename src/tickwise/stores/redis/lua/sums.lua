-- sums: sum up some of the runs that were touched since an instant, and say how many were read: by minute and job, how
-- many were made and how many failed; or by schedule, hour of the slot, state and trigger, how many there are, how late
-- they were made and started, and how long they took. Sums of microseconds of a batch fit a double.

local ids = call('ZRANGE', P .. ':touched', whole(args.since), '+inf', 'BYSCORE', 'LIMIT', args.first, args.count)
local groups, sums = {}, {}

local function add(key, amounts)
  local known = sums[key]
  if not known then
    groups[#groups + 1] = key
    sums[key] = amounts
  else
    for i, amount in ipairs(amounts) do
      known[i] = known[i] + amount
    end
  end
end

local function minute_of(at)
  return whole(math.floor(tonumber(at) / 60000000) * 60)
end

local function between(first, last)
  if first and last then
    return last - first, 1
  end
  return 0, 0
end

for _, id in ipairs(ids) do
  local found = call('HMGET', run_key(id), 'job', 'state', 'created_at', 'finished_at', 'schedule', 'slot', 'trigger',
    'due_at', 'started_at')
  local job, state, created, finished, schedule, slot, trigger, due, started = unpack(found)
  if args.minutes then
    add(minute_of(created) .. ' ' .. job, { 1, 0 })
    if state == 'failed' or state == 'lost' then
      add(minute_of(finished) .. ' ' .. job, { 0, 1 })
    end
  elseif slot and tonumber(slot) >= args.slot and (not args.schedule or args.schedule == schedule) then
    local hour = whole(math.floor(tonumber(slot) / 3600) * 3600)
    local late, began = between(due, started)
    local ran, ended = between(started, finished)
    add(table.concat({ schedule, hour, state, trigger }, ' '), { 1, created - due, late, began, ran, ended })
  end
end
local texts = {}
for place, key in ipairs(groups) do
  for i, amount in ipairs(sums[key]) do
    sums[key][i] = whole(amount)
  end
  texts[place] = cjson.encode({ key, sums[key] })
end
return '{"read":' .. #ids .. ',"sums":' .. list_of(texts) .. '}'
