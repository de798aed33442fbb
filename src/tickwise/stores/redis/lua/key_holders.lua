-- key_holders: the run that has a key of a job (S48), for each pair of these; an empty text if none has it.

local found = {}
for place, pair in ipairs(args.pairs) do
  found[place] = holder(pair[1], pair[2]) or ''
end
return cjson.encode(found)
