variable "v" { default = "1" }
resource "terraform_data" "src" { triggers_replace = var.v }
resource "lab_thing" "t" { name = terraform_data.src.id }
resource "terraform_data" "any" { triggers_replace = terraform_data.src.id }
