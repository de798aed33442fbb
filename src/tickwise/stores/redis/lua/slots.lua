-- slots: of each of some schedules the ids of the runs of its newest slots in an interval, and its decisions, as the
-- fields and values of their hash in turns.

local found = {}
for place, name in ipairs(args.names) do
  local ids = call('ZRANGE', P .. ':slots:' .. name, args.last, args.first, 'BYSCORE', 'REV', 'LIMIT', 0, args.limit)
  found[place] = { ids = ids, decisions = call('HGETALL', P .. ':decisions:' .. name) }
end
return cjson.encode(found)
