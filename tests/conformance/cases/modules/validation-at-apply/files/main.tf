variable "root" {
  default = 3
  validation {
    condition     = var.root > length(terraform_data.u.id)
    error_message = "root is ${var.root}"
  }
}
resource "terraform_data" "u" {
  input = 1
}
module "m" {
  source = "./m"
  u      = terraform_data.u.output
  each   = terraform_data.u.id
}
