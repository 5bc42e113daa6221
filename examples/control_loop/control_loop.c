/*
 * A control loop at 1 kHz: computed torque, tau = B(q) (qdd_d + Kd e' + Kp e) + C(q, qd) qd + g(q), which is the inverse
 * dynamics for the acceleration in brackets. The robot is simulated: forward dynamics with the Runge-Kutta method.
 *
 * control_loop SECONDS       waits for every period, as on a robot
 * control_loop SECONDS fast  does not wait
 *
 * It prints the longest execution time of the control law and the largest tracking error, and returns 1 if that is above
 * 20 mrad. Timing depends on this computer: a real-time kernel and a pinned core make the longest time reliable.
 */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "panda_forward_dynamics.h"
#include "panda_inverse_dynamics.h"

#define N 7
#define PERIOD 0.001       /* s */
#define STIFFNESS 1600.0   /* Kp, 1/s^2: a natural frequency of 40 rad/s */
#define DAMPING 80.0       /* Kd, 1/s: critical */
#define LARGEST_ERROR 0.02 /* rad */

static const double home[N] = {0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785};
static const double swing[N] = {0.4, 0.3, -0.3, 0.4, 0.5, 0.3, 0.6}; /* rad */
static const double speed[N] = {2.0, 1.5, 2.5, 1.7, 3.0, 2.2, 3.5};  /* rad/s */

/* the desired motion, which starts at rest */
static void desired(double t, double q[N], double qd[N], double qdd[N])
{
    int k;
    for (k = 0; k < N; ++k) {
        const double w = speed[k], a = swing[k];
        q[k] = home[k] + a * (1.0 - cos(w * t));
        qd[k] = a * w * sin(w * t);
        qdd[k] = a * w * w * cos(w * t);
    }
}

/* the control law, which a robot's controller executes in every period */
static void control(double t, const double q[N], const double qd[N], double tau[N])
{
    double q_d[N], qd_d[N], v[N];
    int k;
    desired(t, q_d, qd_d, v);
    for (k = 0; k < N; ++k)
        v[k] += DAMPING * (qd_d[k] - qd[k]) + STIFFNESS * (q_d[k] - q[k]);
    panda_inverse_dynamics(q, qd, v, tau);
}

/* the robot: one period under constant torques, fourth-order Runge-Kutta method */
static void plant(double q[N], double qd[N], const double tau[N])
{
    static const double at[4] = {0.0, 0.5, 0.5, 1.0}, weight[4] = {1.0, 2.0, 2.0, 1.0};
    double sum[2][N] = {{0.0}}, slope[2][N] = {{0.0}}, x[2][N];
    int stage, k;
    for (stage = 0; stage < 4; ++stage) {
        for (k = 0; k < N; ++k) {
            x[0][k] = q[k] + at[stage] * PERIOD * slope[0][k];
            x[1][k] = qd[k] + at[stage] * PERIOD * slope[1][k];
        }
        panda_forward_dynamics(x[0], x[1], tau, slope[1]);
        for (k = 0; k < N; ++k) {
            slope[0][k] = x[1][k];
            sum[0][k] += weight[stage] * slope[0][k];
            sum[1][k] += weight[stage] * slope[1][k];
        }
    }
    for (k = 0; k < N; ++k) {
        q[k] += PERIOD / 6.0 * sum[0][k];
        qd[k] += PERIOD / 6.0 * sum[1][k];
    }
}

static double seconds(const struct timespec *time)
{
    return (double)time->tv_sec + 1e-9 * (double)time->tv_nsec;
}

int main(int count, char **words)
{
    const double duration = count > 1 ? atof(words[1]) : 2.0;
    const int waits = !(count > 2 && strcmp(words[2], "fast") == 0);
    const long steps = (long)(duration / PERIOD + 0.5);
    double q[N], qd[N] = {0.0}, tau[N], q_d[N], qd_d[N], qdd_d[N];
    double longest = 0.0, sum = 0.0, latest = 0.0, worst = 0.0;
    struct timespec next, start, end;
    long step;
    int k;

    memcpy(q, home, sizeof q);
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (step = 0; step < steps; ++step) {
        if (waits) {
            next.tv_nsec += (long)(1e9 * PERIOD);
            if (next.tv_nsec >= 1000000000L) {
                next.tv_nsec -= 1000000000L;
                next.tv_sec += 1;
            }
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        }
        clock_gettime(CLOCK_MONOTONIC, &start);
        control((double)step * PERIOD, q, qd, tau);
        clock_gettime(CLOCK_MONOTONIC, &end);
        if (waits && seconds(&start) - seconds(&next) > latest)
            latest = seconds(&start) - seconds(&next);
        sum += seconds(&end) - seconds(&start);
        if (seconds(&end) - seconds(&start) > longest)
            longest = seconds(&end) - seconds(&start);

        plant(q, qd, tau);
        desired((double)(step + 1) * PERIOD, q_d, qd_d, qdd_d);
        for (k = 0; k < N; ++k)
            if (!(fabs(q_d[k] - q[k]) <= worst))
                worst = fabs(q_d[k] - q[k]);
    }
    printf("%ld periods of %g ms\n", steps, 1e3 * PERIOD);
    printf("control law: %.2f us on average, %.2f us at most\n", steps ? 1e6 * sum / (double)steps : 0.0, 1e6 * longest);
    if (waits)
        printf("latest start of a period: %.0f us late\n", 1e6 * latest);
    printf("tracking error: %.3f mrad at most\n", 1e3 * worst);
    return !(worst <= LARGEST_ERROR);
}
