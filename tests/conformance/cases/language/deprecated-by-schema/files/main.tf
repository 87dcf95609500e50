terraform {
  required_providers {
    oldlab = {
      source = "weft.test/lab/oldlab"
    }
  }
}
resource "oldlab_box" "b" {
  name = "b"
}
locals { 
  b = oldlab_box.b
  c = oldlab_box.b.old_name
}
output "b" { 
  value = local.b
  sensitive = true
}
output "c" { value = local.c }
output "d" { value = local.b.old_name }
resource "oldlab_box" "e" {
  name = "e${oldlab_box.b.old_name == "q" ? "" : "x"}"
  count = oldlab_box.b.old_name == "q" ? 2 : 1
}
output "f" { value = oldlab_box.e[*].old_name }
output "g" { 
  value = oldlab_box.e 
  sensitive = true
}
output "h" { value = keys(oldlab_box.b) }
output "j" { value = try(oldlab_box.b.old_name, 1) }
resource "terraform_data" "t" {
  input = oldlab_box.b.name
  triggers_replace = oldlab_box.b.name
}
