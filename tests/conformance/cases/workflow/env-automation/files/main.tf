resource "terraform_data" "a" {
  input = "x"
}
variable "v" {
  default = 1
}
