/**
 * The scripts that count in Redis. Each runs as one step and reads the time from Redis (`TIME`). Numbers leave as text:
 * Redis cuts the fraction of a number that a script returns.
 *
 * A bucket of a window is a hash (`used`, `reserved`, `at`: when it was last used, `reset`: until when stored counters may
 * still hold what a reset took away, `corrected`: what re-priced rows have added to `used`) and a sorted set of what is reserved: `<id>:<amount>`, scored by when it expires.
 */
const helpers = `
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function text(number)
  return string.format('%.17g', number)
end
-- Lowers what is reserved; what is left of it, or nil where the bucket is gone.
local function give(bucket, open, amount)
  if redis.call('HEXISTS', bucket, 'reserved') == 0 then return nil end
  local left = tonumber(redis.call('HINCRBYFLOAT', bucket, 'reserved', text(-amount)))
  if left < 0 or redis.call('EXISTS', open) == 0 then
    redis.call('HSET', bucket, 'reserved', '0')
    left = 0
  end
  return left
end
local function amountOf(member)
  return tonumber(string.match(member, ':(.*)$'))
end
-- Drops reservations of processes that ended without settling them.
local function prune(bucket, open, now)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', open, '-inf', text(now), 'LIMIT', 0, 1000)) do
    redis.call('ZREM', open, member)
    give(bucket, open, amountOf(member))
  end
end
local function create(bucket, count, first, now, ends)
  redis.call('HSET', bucket, 'used', first.used, 'corrected', first.corrected, 'reserved', '0', 'at', text(now))
  redis.call('PEXPIREAT', bucket, ends)
  redis.call('INCR', count)
  redis.call('PEXPIREAT', count, ends)
end
`;

/** Arguments of the `reserve` script before those of its claims, and of each claim. */
const reserveArguments = { common: 6, ofClaim: 9 } as const;

/**
 * Books all claims or none.
 *
 * Keys: the organisation's life; for each claim its bucket, its reservations, its limit's number of buckets.
 * Arguments: the life as the process knows it, one to begin, the id of the reservation, when the process stops waiting,
 * after how many milliseconds it expires, most buckets; for each claim the begin and end of its window (0: it never ends),
 * least, beyond, most of the limit, what a new bucket holds (empty: it must be read first), whether it may be one bucket too
 * many, until when Redis keeps the bucket, and what re-priced rows have added to a new one.
 *
 * Returns its outcome, the time, and: the life (`life`), claims by number (`missing`: read them, `full`: use the overflow),
 * the claim without room and used and reserved of each (`refused`), or used, reserved and the amount of each (`booked`). `time`: the windows are not those
 * of now.
 */
export const reserveScript = `${helpers}
local now = clock()
if now > tonumber(ARGV[4]) then return {'time', text(now)} end
local life = redis.call('GET', KEYS[1])
if not life then
  life = ARGV[2]
  redis.call('SET', KEYS[1], life)
end
if life ~= ARGV[1] then return {'life', text(now), life} end
local claims, missing, full = {}, {'missing', text(now)}, {'full', text(now)}
for index = 1, (#KEYS - 1) / 3 do
  local key, argument = (index - 1) * 3 + 1, (index - 1) * ${reserveArguments.ofClaim} + ${reserveArguments.common}
  local claim = {
    bucket = KEYS[key + 1], open = KEYS[key + 2], count = KEYS[key + 3],
    least = tonumber(ARGV[argument + 3]), beyond = tonumber(ARGV[argument + 4]), most = tonumber(ARGV[argument + 5]),
    first = ARGV[argument + 6], ends = ARGV[argument + 8], corrected = ARGV[argument + 9],
  }
  local last = tonumber(ARGV[argument + 2])
  if now < tonumber(ARGV[argument + 1]) or (last > 0 and now >= last) then return {'time', text(now)} end
  local state = redis.call('HMGET', claim.bucket, 'used', 'reserved')
  claim.used, claim.reserved = tonumber(state[1] or nil), tonumber(state[2] or '0')
  if not claim.used then
    local buckets = tonumber(redis.call('GET', claim.count) or '0')
    if ARGV[argument + 7] == '0' and buckets >= tonumber(ARGV[6]) then
      full[#full + 1] = index
    elseif claim.first == '' then
      missing[#missing + 1] = index
    end
  end
  claims[index] = claim
end
if #full > 2 then return full end
if #missing > 2 then return missing end
for index, claim in ipairs(claims) do
  if not claim.used then
    create(claim.bucket, claim.count, { used = claim.first, corrected = claim.corrected }, now, claim.ends)
    claim.used = tonumber(claim.first)
  end
  local left = claim.most - claim.used - claim.reserved
  if left < claim.least + claim.beyond and claim.reserved > 0 then
    prune(claim.bucket, claim.open, now)
    claim.reserved = tonumber(redis.call('HGET', claim.bucket, 'reserved'))
    left = claim.most - claim.used - claim.reserved
  end
  -- a bucket that is used up admits nothing, not even what needs nothing of it
  if left <= 0 or claim.least > left then
    local reply = {'refused', text(now), index}
    for _, one in ipairs(claims) do
      reply[#reply + 1] = text(one.used or tonumber(one.first))
      reply[#reply + 1] = text(one.reserved)
    end
    return reply
  end
  -- also what has no room: what others give back then goes to it first
  claim.amount = claim.least + claim.beyond
end
local reply = {'booked', text(now)}
for index, claim in ipairs(claims) do
  local amount = text(claim.amount)
  reply[#reply + 1] = text(claim.used)
  reply[#reply + 1] = redis.call('HINCRBYFLOAT', claim.bucket, 'reserved', amount)
  reply[#reply + 1] = amount
  redis.call('ZADD', claim.open, text(now + ARGV[5]), ARGV[3] .. '.' .. index .. ':' .. amount)
  redis.call('PEXPIREAT', claim.bucket, claim.ends)
  redis.call('PEXPIREAT', claim.open, claim.ends)
end
return reply
`;

/**
 * Replaces what was reserved by what was used, once: only who takes the reservation away counts.
 *
 * Keys: for each booking its bucket, its reservations, and the bucket that counts, of the window of now.
 * Arguments: when the process stops waiting; for each booking the reservation (`<id>:<amount>`, or `<id>:` where the process
 * never learnt the amount), what was used, until when Redis keeps the bucket and the one that counts.
 *
 * Returns use of the bucket that counts before and after, for each booking; both empty where nothing was counted. What comes
 * too late only gives back: stored counters may have it already.
 */
export const settleScript = `${helpers}
local now = clock()
local isLate = now > tonumber(ARGV[1])
local reply = {}
for index = 0, #KEYS / 3 - 1 do
  local bucket, open, counting = KEYS[index * 3 + 1], KEYS[index * 3 + 2], KEYS[index * 3 + 3]
  local member, used = ARGV[index * 4 + 2], ARGV[index * 4 + 3]
  if string.sub(member, -1) == ':' then
    for _, one in ipairs(redis.call('ZRANGE', open, 0, -1)) do
      if string.sub(one, 1, #member) == member then member = one end
    end
  end
  local before, after = '', ''
  if redis.call('ZREM', open, member) == 1 then
    if give(bucket, open, amountOf(member)) == 0 then redis.call('PEXPIREAT', bucket, ARGV[index * 4 + 4]) end
    if tonumber(used) > 0 and not isLate then
      after = redis.call('HINCRBYFLOAT', counting, 'used', used)
      before = text(tonumber(after) - used)
      redis.call('HSETNX', counting, 'reserved', '0')
      redis.call('HSET', counting, 'at', text(now))
      if redis.call('PTTL', counting) < 0 then redis.call('PEXPIREAT', counting, ARGV[index * 4 + 5]) end
    end
  end
  reply[#reply + 1] = before
  reply[#reply + 1] = after
end
return reply
`;

/**
 * Raises counters to what is stored, and lowers those that nobody used for a while: by then all use is stored. What
 * re-priced rows changed is added first, once.
 *
 * Keys: for each bucket the bucket, and its limit's number of buckets.
 * Arguments: when the stored counters were read, for how many milliseconds a bucket that is lowered was not used; for each
 * bucket what is stored, what re-priced rows have added to that, and until when Redis keeps it.
 *
 * Returns for each bucket use before and after, and what is reserved.
 */
export const agreeScript = `${helpers}
local now = clock()
local readAt = tonumber(ARGV[1])
local reply = {}
for index = 0, #KEYS / 2 - 1 do
  local bucket, first = KEYS[index * 2 + 1], { used = ARGV[index * 3 + 3], corrected = ARGV[index * 3 + 4] }
  local stored = tonumber(first.used)
  local state = redis.call('HMGET', bucket, 'used', 'reserved', 'at', 'reset', 'corrected')
  local used = tonumber(state[1] or nil)
  local after = used
  local change = used and tonumber(first.corrected) - tonumber(state[5] or first.corrected)
  if change and change ~= 0 then
    after = math.max(0, used + change)
    redis.call('HSET', bucket, 'used', text(after), 'corrected', first.corrected)
  end
  if not used then
    used, after = stored, stored
    if stored > 0 then create(bucket, KEYS[index * 2 + 2], first, now, ARGV[index * 3 + 5]) end
  elseif readAt >= tonumber(state[4] or '0') then
    local isQuiet = readAt - tonumber(state[3] or '0') > tonumber(ARGV[2])
    if stored > after or (stored < after and isQuiet) then
      after = stored
      redis.call('HSET', bucket, 'used', text(stored))
    end
  end
  reply[#reply + 1] = text(used)
  reply[#reply + 1] = text(after)
  reply[#reply + 1] = state[2] or '0'
end
return reply
`;

/**
 * State of buckets.
 *
 * Keys: for each its bucket and its reservations. Returns used and reserved of each; empty where Redis has none.
 */
export const readScript = `${helpers}
local now = clock()
local reply = {}
for index = 0, #KEYS / 2 - 1 do
  local bucket, open = KEYS[index * 2 + 1], KEYS[index * 2 + 2]
  prune(bucket, open, now)
  local state = redis.call('HMGET', bucket, 'used', 'reserved')
  reply[#reply + 1] = state[1] or ''
  reply[#reply + 1] = state[2] or ''
end
return reply
`;

/**
 * Takes use away from a bucket.
 *
 * Keys: the bucket, its limit's number of buckets. Arguments: how much (empty: all of it), what a new bucket holds, what
 * re-priced rows have added to that, until when Redis keeps it, and for how many milliseconds stored counters may hold what is
 * taken away.
 * Returns what was taken away.
 */
export const resetScript = `${helpers}
local now = clock()
local used = tonumber(redis.call('HGET', KEYS[1], 'used') or nil)
if not used then
  -- what was taken away meanwhile is not in the stored counter either
  if ARGV[1] ~= '' then return '0' end
  create(KEYS[1], KEYS[2], { used = ARGV[2], corrected = ARGV[3] }, now, ARGV[4])
  used = tonumber(ARGV[2])
end
local taken = ARGV[1] == '' and used or math.min(used, tonumber(ARGV[1]))
if taken == 0 then return '0' end
redis.call('HSET', KEYS[1], 'used', text(used - taken), 'at', text(now), 'reset', text(now + ARGV[5]))
return text(taken)
`;

/**
 * Adds use to a bucket, or takes it away. Key: the bucket. Argument: how much.
 * Returns use before and after; nothing where Redis does not have the bucket.
 */
export const addScript = `${helpers}
if redis.call('HEXISTS', KEYS[1], 'used') == 0 then return {} end
local after = redis.call('HINCRBYFLOAT', KEYS[1], 'used', ARGV[1])
redis.call('HSET', KEYS[1], 'at', text(clock()))
return {text(after - ARGV[1]), after}
`;

/**
 * Notes that a process lives. Key: the processes. Arguments: the process, after how many milliseconds it counts as gone.
 * Returns the time and the number of processes.
 */
export const beatScript = `${helpers}
local now = clock()
redis.call('ZADD', KEYS[1], text(now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(now - ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {text(now), redis.call('ZCARD', KEYS[1])}
`;

/** Notes that a process ended. Key: the processes. Argument: the process. */
export const leaveScript = "return redis.call('ZREM', KEYS[1], ARGV[1])";
