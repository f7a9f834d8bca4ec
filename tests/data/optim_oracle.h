/* Parameters after each step of Adam (PyTorch 1.13.1) and of centred RMSProp with eps inside the
 * root (optax 0.2.8), in double precision, lr = 0.01. Made by optim_oracle.py, which has the other
 * settings. */
#ifndef LGV_TESTS_DATA_OPTIM_ORACLE_H
#define LGV_TESTS_DATA_OPTIM_ORACLE_H

enum { ORACLE_STEPS = 6, ORACLE_WIDTH = 3 };

static const double oracle_start[ORACLE_WIDTH] = {1, -0.02, 0.3};

static const double oracle_gradients[ORACLE_STEPS][ORACLE_WIDTH] = {
    {0.5, -0.001, 20}, {-0.2, 0.002, 30}, {0.1, 0, -25},
    {0.7, 0.0001, 28}, {0, -0.003, 22},   {-0.4, 0.005, 27},
};

static const double oracle_adam[ORACLE_STEPS][ORACLE_WIDTH] = {
    {0.9900000002, -0.010000099999, 0.290000000005},
    {0.986543941812, -0.0136611121186, 0.280091927364},
    {0.982750024084, -0.0164910810703, 0.277440852573},
    {0.976257406432, -0.01906680891, 0.272482407978},
    {0.970769664034, -0.0159928096939, 0.266496875982},
    {0.968603154764, -0.0185875088268, 0.259589730099},
};

static const double oracle_rmsprop[ORACLE_STEPS][ORACLE_WIDTH] = {
    {0.954136160253, -0.0168452060989, 0.2541168653},
    {0.971225847422, -0.0230937589241, 0.214724089847},
    {0.962575857889, -0.0230937589241, 0.240947208325},
    {0.925044685687, -0.0234065473332, 0.215468810649},
    {0.925044685687, -0.0142149100022, 0.196387980091},
    {0.944770858933, -0.0287363097854, 0.174541325462},
};

#endif
