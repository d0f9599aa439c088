// The public types that the module without I/O declares; `@_exported` makes them available with this module.

@_exported public import enum PathDiagnosis.ChappieDiagnosis
