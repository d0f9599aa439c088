#include <stdlib.h>
#include <zlib.h>
