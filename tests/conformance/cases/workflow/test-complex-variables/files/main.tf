variable "o" {
  type = object({
    name = string
    size = optional(number, 3)
    tags = optional(map(string))
  })
}
variable "n" {
  type     = string
  default  = "d"
  nullable = false
}
resource "terraform_data" "a" { input = var.o }
output "o" { value = terraform_data.a.output }
output "n" { value = var.n }
