-- adopt: give handed-over runs whose watcher's lease has run out to another watcher, the oldest lease first (S54).

if call('EXISTS', args.offers) == 0 then
  return '{"unknown_offers":true}'
end
local found, seen = {}, {}
for _, queue in ipairs(args.queues) do
  for _, requires in ipairs(seen[queue] and {} or call('SMEMBERS', P .. ':engines:' .. queue)) do
    if allows(args.offers, requires) then
      local key = handed_key({ queue = queue, requires = requires })
      local ended = call('ZRANGE', key, '-inf', '(' .. whole(now), 'BYSCORE', 'LIMIT', 0, args.capacity, 'WITHSCORES')
      for i = 1, #ended, 2 do
        found[#found + 1] = { member = ended[i], lease_until = tonumber(ended[i + 1]) }
      end
    end
  end
  seen[queue] = true
end
table.sort(found, function(one, other)
  if one.lease_until == other.lease_until then
    return one.member < other.member
  end
  return one.lease_until < other.lease_until
end)
local ids = {}
for i = 1, math.min(args.capacity, #found) do
  local id = whole(tonumber(found[i].member))
  local run = fields_of(run_key(id))
  call('SREM', P .. ':held:' .. run.node, id)
  call('SADD', P .. ':held:' .. args.node, id)
  run.lease_until = now + args.seconds * 1000000
  put(run_key(id), { node = args.node, lease_until = run.lease_until })
  hold(id, run)
  ids[i] = id
end
return '{"leases":' .. rows(ids) .. '}'
