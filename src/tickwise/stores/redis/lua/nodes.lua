-- nodes: read the nodes that were seen within a day.

local texts = {}
for _, id in ipairs(call('ZRANGE', P .. ':nodes', '(' .. whole(now - 86400000000), '+inf', 'BYSCORE')) do
  local node = fields_of(P .. ':node:' .. id)
  node.id = id
  texts[#texts + 1] = cjson.encode(node)
end
return list_of(texts)
