// Tests of heads.

import HTTPProtocol
import Testing
