-- tokens: read all tokens that were ever issued.

local texts = {}
for _, id in ipairs(call('SMEMBERS', P .. ':tokens')) do
  texts[#texts + 1] = cjson.encode(fields_of(P .. ':token:' .. id))
end
return list_of(texts)
