/// Recognizes certification authorities of devices that inspect TLS, by the shape of their names.
///
/// Pure. A public authority names a company and a country, and none of its names speaks of proxies or inspection; a
/// device's authority does so, or has the vendor's name. The shape only chooses words: what is trusted does not depend
/// on it.
enum InspectionAuthority {
    /// Words in the names of such authorities.
    private static let words = [
        "proxy", "inspect", "intercept", "decrypt", "firewall", "gateway", "web filter", "webfilter", "ssl scan",
        "untrusted", "mitm", "forward trust", "secure web", "security appliance",
    ]
    /// Vendors whose devices and programs inspect TLS, and that issue no certificates for public servers.
    private static let vendors = [
        "zscaler", "fortinet", "fortigate", "palo alto", "netskope", "blue coat", "bluecoat", "sophos", "barracuda",
        "mcafee", "forcepoint", "websense", "checkpoint", "check point", "umbrella", "kaspersky", "eset ", "avast",
        "bitdefender", "charles", "fiddler", "burp", "untangle", "smoothwall", "lightspeed", "contentkeeper",
    ]

    /// Returns whether an issuer's name (RFC 4514) has the shape of such an authority.
    static func hasShape(_ issuer: String?) -> Bool {
        guard let issuer = issuer?.lowercased() else { return false }
        return (Self.words + Self.vendors).contains { issuer.contains($0) }
    }
}
