-- recent: the runs of the newest slots of live schedules, in order of the slots.

local texts = {}
for _, name in ipairs(args.names) do
  local ids = call('HEXISTS', P .. ':owner', name) == 1
    and call('ZRANGE', P .. ':slots:' .. name, -args.limit, -1) or {}
  if #ids > 0 then
    local runs = {}
    for place, id in ipairs(ids) do
      local found = call('HMGET', run_key(id), 'state', 'due_at', 'started_at')
      runs[place] = cjson.encode({ found[1], found[2], found[3] or '' })
    end
    texts[#texts + 1] = '"' .. name .. '":' .. list_of(runs)
  end
end
return '{' .. table.concat(texts, ',') .. '}'
