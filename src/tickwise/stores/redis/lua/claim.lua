-- claim: read the jobs that are due, the earliest first, or those that are named, and what else a pass depends on. The
-- due ones leave out what other passes of the same process have claimed, and so does the time of the next.
-- Nothing is changed: nodes that pass at the same moment plan the same jobs, and one of them moves each. Of a plain job
-- whose lane is free only a few numbers are read: a node that remembers its document needs no more.

local paused, names, claimed, others_claimed = is_paused(), {}, {}, args.claimed or {}
for _, name in ipairs(others_claimed) do
  claimed[name] = true
end
if not paused then
  if args.names then
    for _, name in ipairs(args.names) do
      if call('HGET', job_key(name), 'live') == '1' then
        names[#names + 1] = name
      end
    end
  else
    for _, name in ipairs(call('ZRANGE', P .. ':due', '-inf', second, 'BYSCORE', 'LIMIT', 0, args.limit + #others_claimed)) do
      if not claimed[name] and #names < args.limit then
        names[#names + 1] = name
      end
    end
  end
end
local plain, others = {}, {}
for _, name in ipairs(names) do
  local found = call('HMGET', job_key(name), 'plain', 'seq', 'rev', 'moved', 'last_manual', 'lane:0')
  if found[1] == '1' and not found[6] then
    plain[#plain + 1] = '["' .. name .. '",' .. found[2] .. ',' .. found[3] .. ',"' .. (found[4] or '') .. '",'
      .. (found[5] or '0') .. ']'
  else
    others[#others + 1] = name
  end
end
local first, following = call('ZRANGE', P .. ':due', 0, #others_claimed, 'WITHSCORES'), nil
for i = 1, #first, 2 do
  following = following or (not claimed[first[i]] and first[i + 1]) or nil
end
local workers = call('ZRANGE', P .. ':workers', '(' .. whole(now), '+inf', 'BYSCORE')
return '{"now":' .. whole(now) .. ',"paused":' .. tostring(paused) .. ',"pauses":' .. pauses_ended()
  .. ',"next_due":' .. (following or 'null') .. ',"seen":"' .. (call('GET', P .. ':workers_seq') or '') .. '"'
  .. ',"workers":' .. cjson.encode(workers) .. ',"plain":' .. list_of(plain) .. ',"jobs":' .. job_texts(others) .. '}'
