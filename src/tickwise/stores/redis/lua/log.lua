-- log: read parts of what a run printed, behind a number.

local texts = {}
for _, entry in ipairs(call('XRANGE', P .. ':log:' .. args.run, '(' .. whole(args.after) .. '-1', '+', 'COUNT', args.limit)) do
  local part = { number = string.match(entry[1], '^%d+') }
  for i = 1, #entry[2], 2 do
    part[entry[2][i]] = entry[2][i + 1]
  end
  texts[#texts + 1] = cjson.encode(part)
end
return list_of(texts)
