resource "terraform_data" "r" { triggers_replace = 2 }
resource "terraform_data" "i" { triggers_replace = 2 }
