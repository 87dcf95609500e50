terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "a" {
  name = "a"
  provisioner "local-exec" {
  }
  provisioner "local-exec" {
    command = "x"
    nope = 1
  }
  provisioner "local-exec" {
    command = lab_thing.a.id
  }
  provisioner "local-exec" {
    when = destroy
    command = "echo ${lab_thing.b.id}"
  }
  provisioner "local-exec" {
    when = sometimes
    command = "x"
  }
  provisioner "local-exec" {
    on_failure = "ignore"
    command = "x"
  }
  provisioner "nope" {
    command = "x"
  }
  provisioner "file" {
    source = "x"
    destination = "y"
    connection {
      host = self.nope
      nope = 1
    }
  }
  connection {
    host = "h"
  }
  connection {
    host = "i"
  }
}
resource "lab_thing" "b" { name = "b" }
