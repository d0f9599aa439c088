// The versions of the C libraries that the process has loaded, for reports and `chappie --version`.

import Deflate
import LibwebsocketsTransport
import ResponseEvents

/// The C libraries below this package.
public enum ChappieLinkedLibraries {
    /// The names and versions that the libraries themselves report at run time.
    public static var versions: [(name: String, version: String)] {
        [
            ("libwebsockets", LibraryVersions.libwebsockets),
            ("zlib", Inflater.libraryVersion),
            ("simdjson", ResponseEventDecoder.libraryVersion),
            ("OpenSSL", LibraryVersions.tls),
        ]
    }
}
