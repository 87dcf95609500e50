variable "v" { type=number }
