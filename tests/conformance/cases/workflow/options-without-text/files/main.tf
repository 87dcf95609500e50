variable "x" {
  type    = string
  default = "d"
}

variable "n" {
  type    = number
  default = 1
}

output "x" {
  value = var.x
}

output "n" {
  value = var.n
}
resource "terraform_data" "a" {
  input = "one"
}

resource "terraform_data" "b" {
  input = terraform_data.a.output
}

output "o" {
  value = terraform_data.b.output
}
