-- What every script begins with: where the keys are, what time it is, and how others hear of a change.
--
-- KEYS[1] is the beginning of all keys of one store. It contains a hash tag, so all of them are on one node of a
-- cluster. ARGV[1] is one JSON value, and so is the answer. Numbers are kept as decimal texts; instants in
-- microseconds fit a double, but `..` and cjson would round them: `whole` writes them.

local P = KEYS[1]
local args = cjson.decode(ARGV[1])
local call = redis.call

local function whole(number)
  return string.format('%.0f', number)
end

local function server_time()
  local parts = call('TIME')
  return tonumber(parts[1]) * 1000000 + tonumber(parts[2])
end

local now = args.now or server_time()
local second = math.floor(now / 1000000)

-- Announce once that there is something to look at.
local announced = false
local function tell()
  if not announced then
    announced = true
    call('PUBLISH', P .. ':news', '')
  end
end

-- Write members to a key, many with one command: a command costs the server more than its members.
local function write_all(command, key, members)
  for first = 1, #members, 1000 do
    call(command, key, unpack(members, first, math.min(first + 999, #members)))
  end
end

-- The fields of a hash by their names.
local function fields_of(key)
  local flat, found = call('HGETALL', key), {}
  for i = 1, #flat, 2 do
    found[flat[i]] = flat[i + 1]
  end
  return found
end

-- Write fields of a hash, given by their names.
local function put(key, fields)
  local flat, n = {}, 0
  for name, value in pairs(fields) do
    flat[n + 1], flat[n + 2] = name, value
    n = n + 2
  end
  call('HSET', key, unpack(flat))
end

-- JSON texts of a list, joined to one.
local function list_of(texts)
  return '[' .. table.concat(texts, ',') .. ']'
end

-- Count one more or less under a name; what is not there any more has no name.
local function count(key, name, by)
  if call('HINCRBY', key, name, by) == 0 then
    call('HDEL', key, name)
  end
end
