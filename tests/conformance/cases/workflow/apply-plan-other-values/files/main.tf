variable "size" {
  type    = number
  default = 1
}
variable "names" {
  type = list(string)
}
resource "terraform_data" "a" {
  input = [var.size, var.names]
}
