-- Which queued runs a worker gets: queue by queue as asked; in each by priority, then age (S46).
--
-- What a worker offers is a set of words `offers:DIGEST`, written once for all workers that offer the same.

local KINDS = '^([^:]*):'

-- Whether a worker may execute what requires this: it offers the text, or every word of it.
local function allows(offers, requires)
  if call('SISMEMBER', offers, requires) == 1 then
    return true
  end
  for word in string.gmatch(requires, '%S+') do
    local all = (string.match(word, KINDS) or word) .. ':*'
    if call('SISMEMBER', offers, word) == 0 and call('SISMEMBER', offers, all) == 0 then
      return false
    end
  end
  return true
end

-- The places of at most so many ready runs of one kind that could be started now.
local function startable(key, most)
  local found, first = {}, 0
  local expiring = call('EXISTS', P .. ':expiring') == 1
  while #found < most do
    local chunk = call('ZRANGE', key, first, first + most - 1)
    for _, member in ipairs(chunk) do
      local id, late = whole(tonumber(string.sub(member, 21))), false
      if expiring then
        local at = call('ZSCORE', P .. ':expiring', id)
        late = at and tonumber(at) <= now
      end
      if not late and tonumber(string.sub(member, 5, 20)) <= now and #found < most then
        found[#found + 1] = member
      end
    end
    if #chunk < most or first > 10000 then
      break
    end
    first = first + most
  end
  return found
end

-- The ids of the next runs of a queue that a worker may execute.
local function next_runs(queue, offers, most)
  local found = {}
  if most < 1 then
    return found
  end
  for _, requires in ipairs(call('SMEMBERS', P .. ':parts:' .. queue)) do
    if allows(offers, requires) then
      for _, member in ipairs(startable(P .. ':ready:' .. queue .. ' ' .. requires, most)) do
        found[#found + 1] = member
      end
    end
  end
  table.sort(found)
  local ids = {}
  for i = 1, math.min(most, #found) do
    ids[i] = whole(tonumber(string.sub(found[i], 21)))
  end
  return ids
end

-- A bucket that time fills: it holds the starts of a second, and one at least.
local function credit_of(limit)
  local rate = tonumber(limit.rate)
  local passed = math.max(0, now - tonumber(limit.credited_at)) / 1000000
  return math.min(math.max(1, rate), tonumber(limit.credit) + rate * passed)
end

-- Lease runs to a worker within the fleet's limits, and return their ids.
local function hand_out(wanted)
  local leased, seen = {}, {}
  for _, queue in ipairs(wanted.queues) do
    local room = wanted.capacity - #leased
    if not seen[queue] and room > 0 then
      seen[queue] = true
      local limit = fields_of(P .. ':limit:' .. queue)
      if limit.paused_at and (not limit.resumes_at or tonumber(limit.resumes_at) > second) then
        room = 0
      end
      if limit.concurrency then
        room = math.min(room, limit.concurrency - tonumber(call('HGET', P .. ':busy', queue) or 0))
      end
      if limit.rate then
        room = math.min(room, math.floor(credit_of(limit)))
      end
      local taken = 0
      for _, id in ipairs(next_runs(queue, wanted.offers, room)) do
        take(id, fields_of(run_key(id)), wanted.node, wanted.seconds)
        leased[#leased + 1], taken = id, taken + 1
      end
      if taken > 0 and limit.rate then
        put(P .. ':limit:' .. queue, {
          credit = string.format('%.17g', credit_of(limit) - taken), credited_at = now,
        })
      end
    end
  end
  return leased
end
