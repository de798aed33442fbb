-- newest_runs: the state of the run of the newest slot of each schedule that has one.

local texts = {}
for _, name in ipairs(args.names) do
  local id = call('ZRANGE', P .. ':slots:' .. name, -1, -1)[1]
  local state = id and call('HGET', run_key(id), 'state')
  if state then
    texts[#texts + 1] = '"' .. name .. '":"' .. state .. '"'
  end
end
return '{' .. table.concat(texts, ',') .. '}'
