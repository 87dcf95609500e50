variable "a" {
  type    = number
  default = "y"
}
