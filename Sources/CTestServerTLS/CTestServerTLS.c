#include "CTestServerTLS.h"
