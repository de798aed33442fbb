-- decisions: read decisions by their names `SCHEDULE REASON FIRST`.

local texts = {}
for place, member in ipairs(args.members) do
  local schedule, field = string.match(member, '^(%S+) (.*)$')
  texts[place] = call('HGET', P .. ':decisions:' .. schedule, field) or ''
end
return cjson.encode(texts)
