-- jobs_of: read jobs by their names, and those that have or had schedules of these names; and the pauses so far.

local owners, gone, names, seen = {}, {}, {}, {}
local function add(name)
  if name and not seen[name] then
    seen[name] = true
    names[#names + 1] = name
  end
end
for _, name in ipairs(args.names or {}) do
  add(name)
end
for _, schedule in ipairs(args.schedules or {}) do
  local owner = call('HGET', P .. ':owner', schedule)
  if owner then
    owners[#owners + 1] = '"' .. schedule .. '":"' .. owner .. '"'
    add(owner)
  end
  local before = args.gone and call('HGET', P .. ':gone', schedule)
  if before then
    gone[#gone + 1] = '"' .. schedule .. '":"' .. before .. '"'
    add(before)
  end
end
return '{"now":' .. whole(now) .. ',"pauses":' .. pauses_ended() .. ',"paused":' .. tostring(is_paused())
  .. ',"owners":{' .. table.concat(owners, ',') .. '},"gone":{' .. table.concat(gone, ',') .. '},"jobs":' .. job_texts(names)
  .. '}'
