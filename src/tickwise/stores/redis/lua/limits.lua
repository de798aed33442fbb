-- limits: read the fleet's limits, by queue.

local texts = {}
for _, queue in ipairs(call('SMEMBERS', P .. ':limits')) do
  texts[#texts + 1] = '"' .. queue .. '":' .. cjson.encode(fields_of(P .. ':limit:' .. queue))
end
return '{' .. table.concat(texts, ',') .. '}'
