/*
 * Self-test of ${symbol}: ${states} states, computed by dalembert ${version} in double precision.
 * Returns 0 if every error is at most TOLERANCE times the size of its array, otherwise 1. The size is the magnitude of
 * the largest output, or larger where large terms cancel.
 */
#include <stdio.h>

#include "${header}.h"

#define TOLERANCE ${tolerance}

static const ${type} inputs[${states}][${input_size}] = {
${inputs}
};

static const ${type} outputs[${states}][${output_size}] = {
${outputs}
};

/* ends and sizes of the output arrays */
static const int ends[${count}] = {${bounds}};
static const ${type} sizes[${count}] = {${scales}};

static ${type} magnitude(${type} x)
{
    return x < ${zero} ? -x : x;
}

int main(void)
{
    ${type} got[${output_size}], worst = ${zero};
    int state, array, k, first, failed = 0;

    for (state = 0; state < ${states}; ++state) {
        ${call}
        for (array = 0, first = 0; array < ${count}; first = ends[array++]) {
            for (k = first; k < ends[array]; ++k) {
                const ${type} error = magnitude(got[k] - outputs[state][k]);
                if (!(error <= TOLERANCE * sizes[array]))
                    failed = 1;
                if (error > worst * sizes[array])
                    worst = error / sizes[array];
            }
        }
    }
    printf("${symbol}: ${states} states, worst error %.2g of the size of the outputs, %s\n",
           (double)worst, failed ? "FAILED" : "passed");
    return failed;
}
