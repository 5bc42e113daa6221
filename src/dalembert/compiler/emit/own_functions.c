/*
 * Templates of own_functions.py: capital words such as REAL and UINT are replaced, [NAME k] is a constant, and {NAME z} a
 * polynomial in z. A function stands after those that it calls.
 */

/* the bits of x */
static UINT own_bits(REAL x)
{
    union { REAL x; UINT bits; } both;
    both.x = x;
    return both.bits;
}

/* the number with these bits */
static REAL own_real(UINT bits)
{
    union { REAL x; UINT bits; } both;
    both.bits = bits;
    return both.x;
}

/* 2 to the k, for the exponents of normal numbers */
static REAL own_power(INT k)
{
    return own_real((UINT)(k + BIAS) << FRACTION);
}

/*
 * x = n pi/2 + r for a large x: r, and n modulo 4 (Payne and Hanek). x is an integer m times 2 to the e; the LIMBS
 * words of 2/pi from the first bit whose product with m is not a multiple of 4 quadrants are sufficient.
 */
static unsigned own_far(REAL x, REAL *r)
{
    static const uint32_t two_over_pi[WORDS] = {
TABLE
    };
    const UINT bits = own_bits(x) & ~((UINT)1 << (FRACTION + BIASBITS));
    const uint64_t m = (bits & (((UINT)1 << FRACTION) - 1)) | (UINT)1 << FRACTION;
    const int start = (int)(bits >> FRACTION) - BIAS - FRACTION + 62;
    const uint64_t low = m & 0xFFFFFFFFu, high = m >> 32;
    const uint64_t half_pi_high = 0xC90FDAA2u, half_pi_low = 0x2168C235u;
    uint32_t window[LIMBS + 1], product[LIMBS + 1];
    uint64_t carry = 0, carry_high = 0, h, l, a, b;
    unsigned n;
    int k, negative = 0;

    for (k = 0; k < LIMBS; ++k) {
        const int word = (start >> 5) + k;
        window[k] = (uint32_t)(((uint64_t)two_over_pi[word] << 32 | two_over_pi[word + 1]) >> (32 - (start & 31)));
    }
    window[LIMBS] = 0;
    product[LIMBS] = 0;
    for (k = LIMBS - 1; k >= 0; --k) {
        carry += window[k] * low;
        carry_high += window[k + 1] * high + (carry & 0xFFFFFFFFu);
        product[k] = (uint32_t)carry_high;
        carry >>= 32;
        carry_high >>= 32;
    }
    n = (unsigned)(product[0] >> 30); /* quadrants; the rest is a fraction of one, with h and l as its first 128 bits */
    h = (uint64_t)product[0] << 34 | (uint64_t)product[1] << 2 | product[2] >> 30;
    l = (uint64_t)product[2] << 34 | (uint64_t)product[3] << 2 | product[4] >> 30;
    if (h >> 63) { /* the next quadrant is closer */
        h = ~h;
        l = ~l;
        n += 1;
        negative = 1;
    }
    for (k = 0; !(h >> 63) && k < 100; ++k) {
        h = h << 1 | l >> 63;
        l <<= 1;
    }
    a = (h >> 32) * half_pi_low + ((h & 0xFFFFFFFFu) * half_pi_low >> 32);
    b = (h & 0xFFFFFFFFu) * half_pi_high + (a & 0xFFFFFFFFu);
    h = (h >> 32) * half_pi_high + (a >> 32) + (b >> 32);
    *r = (REAL)h * own_power(-63 - k);
    if (negative != (x < [ZERO 0]))
        *r = -*r;
    return (x < [ZERO 0] ? 0u - n : n) & 3u;
}

/* x = n pi/2 + r with |r| <= pi/4: r, and n modulo 4; r is NaN if x is infinite or NaN */
static unsigned own_reduce(REAL x, REAL *r)
{
    if (x >= -LARGEST && x <= LARGEST) { /* three parts of pi/2; n times the first two is exact (Cody and Waite) */
        const REAL n = (x * [TURN 0] + [ROUNDER 0]) - [ROUNDER 0];
        const REAL a = x - n * [PI_HALF 0], b = n * [PI_HALF 1];
        const REAL c = a - b;
        *r = c + (((a - c) - b) - n * [PI_HALF 2]);
        return (uint32_t)(INT)n & 3u;
    }
    if (!(x - x == [ZERO 0])) {
        *r = x - x;
        return 0;
    }
    return own_far(x, r);
}

/* the sine of r in quadrant n, |r| <= pi/4 */
static REAL own_wave(REAL r, unsigned n)
{
    const REAL z = r * r;
    REAL y;
    if (n & 1u) {
        const REAL half = [HALF 0] * z, near = [ONE 0] - half;
        y = near + (z * z * {COSINE z} + (([ONE 0] - near) - half));
    } else {
        y = r + r * z * {SINE z};
    }
    return n & 2u ? -y : y;
}

static REAL own_sin(REAL x)
{
    REAL r;
    const unsigned n = own_reduce(x, &r);
    return own_wave(r, n);
}

static REAL own_cos(REAL x)
{
    REAL r;
    const unsigned n = own_reduce(x, &r);
    return own_wave(r, n + 1u);
}

/* Newton's method for 1/sqrt(x), and one step for sqrt(x) with an exact residual (Dekker) */
static REAL own_sqrt(REAL x)
{
    REAL scale = [ONE 0], y, s, high, low;
    int k;
    if (!(x > [ZERO 0]) || x - x != [ZERO 0])
        return x < [ZERO 0] ? (x - x) / [ZERO 0] : x;
    if (x < LOW) {
        x *= LIFT;
        scale = LOWER;
    } else if (x > HIGH) {
        x *= DROP;
        scale = RAISE;
    }
    y = own_real(MAGIC - (own_bits(x) >> 1));
    for (k = 0; k < STEPS; ++k)
        y *= [ONE 0] + ([HALF 0] - [HALF 0] * x * y * y);
    s = x * y;
    high = own_real(own_bits(s) & SPLIT);
    low = s - high;
    return (s + [HALF 0] * y * (((x - high * high) - [TWO 0] * high * low) - low * low)) * scale;
}

/* 2 to the k times exp r, with x = k ln 2 + r; half of k at a time, as 2 to the k may be out of range when exp x is not */
static REAL own_exp(REAL x)
{
    if (!(x <= [RANGE 1]))
        return x != x ? x : [ONE 0] / [ZERO 0];
    if (x < [RANGE 0])
        return [ZERO 0];
    {
        const REAL k = (x * [LOG2E 0] + [ROUNDER 0]) - [ROUNDER 0];
        const REAL r = (x - k * [LN_2 0]) - k * [LN_2 1];
        const REAL power = [ONE 0] + (r + r * r * {EXP r});
        const INT half = (INT)k / 2;
        return power * own_power(half) * own_power((INT)k - half);
    }
}

/* k ln 2 + ln m with x = 2 to the k times m, sqrt(1/2) <= m < sqrt(2); s = f/(2 + f) with f = m - 1 */
static REAL own_log(REAL x)
{
    REAL k = [ZERO 0];
    UINT bits;
    if (!(x > [ZERO 0]) || x - x != [ZERO 0])
        return x == [ZERO 0] ? -[ONE 0] / [ZERO 0] : x < [ZERO 0] ? (x - x) / [ZERO 0] : x;
    if (x < NORMAL) {
        x *= UP;
        k = -UPS;
    }
    bits = own_bits(x) + (own_bits([ONE 0]) - own_bits([ROOT 0]));
    k += (REAL)((INT)(bits >> FRACTION) - BIAS);
    {
        const REAL f = own_real((bits & (((UINT)1 << FRACTION) - 1)) + own_bits([ROOT 0])) - [ONE 0];
        const REAL s = f / ([TWO 0] + f), z = s * s, half = [HALF 0] * f * f;
        return k * [LN_2 0] - ((half - (s * (half + z * {LOG z}) + k * [LN_2 1])) - f);
    }
}

/* a polynomial near 0, 1 - 2/(exp 2x + 1) beyond */
static REAL own_tanh(REAL x)
{
    const REAL a = x < [ZERO 0] ? -x : x;
    REAL y = [ONE 0];
    if (x != x)
        return x;
    if (a <= [BOUNDS 0]) {
        const REAL z = a * a;
        y = a + a * z * {TANH z};
    } else if (a < [BOUNDS 1]) {
        y = [ONE 0] - [TWO 0] / (own_exp(a + a) + [ONE 0]);
    }
    return x < [ZERO 0] ? -y : y;
}

/* high + low + u + rest, where high is 0 or larger than u; the rounding error of high + u is compensated */
static REAL own_turned(REAL high, REAL low, REAL u, REAL rest)
{
    const REAL near = high + u;
    return near + (rest + ((u - (near - high)) + low));
}

/* with t the smaller of |x| and |y| over the larger: atan t, pi/2 -+ atan t or pi - atan t, signed like y */
static REAL own_atan2(REAL y, REAL x)
{
    const REAL a = x < [ZERO 0] ? -x : x, b = y < [ZERO 0] ? -y : y;
    const int left = (int)(own_bits(x) >> (FRACTION + BIASBITS)), below = (int)(own_bits(y) >> (FRACTION + BIASBITS));
    const int steep = b > a;
    const REAL smaller = steep ? a : b, larger = steep ? b : a;
    REAL t, z, angle;
    if (x != x || y != y)
        return x + y;
    t = larger == [ZERO 0] ? [ZERO 0] : smaller == larger ? [ONE 0] : smaller / larger;
    z = t * t;
    t = steep != left ? -t : t;
    angle = own_turned(steep ? [HALF_PI 0] : left ? [PI 0] : [ZERO 0],
                       steep ? [HALF_PI 1] : left ? [PI 1] : [ZERO 0], t, t * z * {ATAN z});
    return below ? -angle : angle;
}

/* beyond 1/2: pi/2 - 2 asin sqrt((1 - |x|)/2), signed like x */
static REAL own_asin(REAL x)
{
    const REAL a = x < [ZERO 0] ? -x : x;
    const int high = a > [HALF 0];
    const REAL z = high ? ([ONE 0] - a) * [HALF 0] : a * a;
    const REAL u = high ? -[TWO 0] * own_sqrt(z) : a;
    const REAL angle = own_turned(high ? [HALF_PI 0] : [ZERO 0], high ? [HALF_PI 1] : [ZERO 0], u, u * z * {ASIN z});
    return x < [ZERO 0] ? -angle : angle;
}

/* pi/2 - asin x; beyond 1/2: 2 asin sqrt((1 - x)/2), beyond -1/2: pi - 2 asin sqrt((1 + x)/2) */
static REAL own_acos(REAL x)
{
    const REAL a = x < [ZERO 0] ? -x : x;
    const int high = a > [HALF 0], left = x < [ZERO 0];
    const REAL z = high ? ([ONE 0] - a) * [HALF 0] : a * a;
    const REAL r = high ? [TWO 0] * own_sqrt(z) : a;
    const REAL u = high != left ? r : -r;
    return own_turned(high ? left ? [PI 0] : [ZERO 0] : [HALF_PI 0], high ? left ? [PI 1] : [ZERO 0] : [HALF_PI 1],
                      u, u * z * {ASIN z});
}
