variable "x" {
  type = bogus
}
