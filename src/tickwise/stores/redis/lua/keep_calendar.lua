-- keep_calendar: write a calendar over the revision that was read, or delete it; answers whether that was its revision.

local key = P .. ':calendars'
local known = call('HGET', key, args.name)
local revision = known and tonumber(string.match(known, '^%d+')) or 0
if revision ~= args.over then
  return cjson.encode({ kept = false })
end
if args.text then
  call('HSET', key, args.name, whole(args.over + 1) .. ' ' .. args.text)
else
  call('HDEL', key, args.name)
end
return cjson.encode({ kept = true })
