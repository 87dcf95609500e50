variable "list" { type = list(string) }
