variable "x" {
  default = 1
  bad     = 2
}
